/** A chart over time, by uPlot. */
import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import { theme } from "../live/theme";
import { exactTime, timeOfDay } from "../logic/words";
import { colourReader } from "./colours";

export interface Series {
  label: string;
  /** The name of a colour in the style sheet. */
  colour: string;
  isStepped?: boolean;
  isDashed?: boolean;
  isFilled?: boolean;
}

interface Properties {
  label: string;
  series: readonly Series[];
  /** Times, then the values of each series. */
  data: ReadonlyArray<ReadonlyArray<number | null>>;
  height: number;
  format: (value: number) => string;
}

export function Chart({ label, series, data, height, format }: Properties) {
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const shape = JSON.stringify(series);
  useEffect(() => {
    const element = place.current;
    if (!element) return;
    plot.current = new uPlot(optionsOf(element, series, height, format), data as uPlot.AlignedData, element);
    const observer = new ResizeObserver(() => plot.current?.setSize({ width: element.clientWidth, height }));
    observer.observe(element);
    return () => {
      observer.disconnect();
      plot.current?.destroy();
    };
  }, [shape, height, theme.value]);
  useEffect(() => {
    plot.current?.setData(data as uPlot.AlignedData);
  }, [data]);
  return <div class="chart" ref={place} role="img" aria-label={label} />;
}

function optionsOf(
  element: HTMLElement,
  series: readonly Series[],
  height: number,
  format: (value: number) => string,
): uPlot.Options {
  const read = colourReader(element);
  const colour = (name: string): string => read(`--${name}`);
  const axis = {
    stroke: colour("ink-soft"),
    grid: { stroke: colour("line"), width: 1 },
    ticks: { show: false },
    font: "12px system-ui",
  };
  return {
    width: element.clientWidth || 600,
    height,
    cursor: { drag: { x: false, y: false }, points: { size: 6 } },
    legend: { show: true, live: true },
    scales: { y: { range: (_plot, _least, most) => [0, Math.max(most * 1.08, 1e-9)] } },
    axes: [
      {
        ...axis,
        space: 96,
        values: (_plot, times, _index, _space, step) =>
          times.map(at => (step < 60 ? exactTime(at) : timeOfDay(at, at))),
      },
      { ...axis, size: 64, values: (_plot, values) => values.map(format) },
    ],
    series: [
      { label: "Time", value: (_plot, at) => (at ? exactTime(at) : "–") },
      ...series.map(line => ({
        label: line.label,
        stroke: colour(line.colour),
        width: 2,
        points: { show: false },
        spanGaps: true,
        value: (_plot: uPlot, value: number | null) => (value === null ? "–" : format(value)),
        ...(line.isDashed ? { dash: [6, 4] } : {}),
        ...(line.isFilled ? { fill: `color-mix(in srgb, ${colour(line.colour)} 14%, transparent)` } : {}),
        ...(line.isStepped && uPlot.paths.stepped ? { paths: uPlot.paths.stepped({ align: 1 }) } : {}),
      })),
    ],
  };
}
