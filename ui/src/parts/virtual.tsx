/** Many rows of one height, of which only those in view are in the document. The whole window scrolls them. */
import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { scrollTo, visibleSlice } from "../logic/virtual";

interface Properties {
  total: number;
  rowHeight: number;
  /** The row that has to be in view; -1 for none. */
  focus: number;
  class: string;
  children: (index: number) => ComponentChildren;
}

export function VirtualRows({ total, rowHeight, focus, class: name, children }: Properties) {
  const place = useRef<HTMLDivElement>(null);
  const [view, setView] = useState({ scrolled: 0, height: window.innerHeight });
  const measure = (): void => {
    const top = place.current?.getBoundingClientRect().top ?? 0;
    const scrolled = Math.max(0, -top);
    setView(old =>
      old.scrolled === scrolled && old.height === window.innerHeight
        ? old
        : { scrolled, height: window.innerHeight },
    );
  };
  useEffect(() => {
    window.addEventListener("scroll", measure, { passive: true });
    window.addEventListener("resize", measure);
    return () => {
      window.removeEventListener("scroll", measure);
      window.removeEventListener("resize", measure);
    };
  }, []);
  useLayoutEffect(measure);
  useEffect(() => {
    const top = place.current?.getBoundingClientRect().top ?? 0;
    if (focus < 0) return;
    const inside = scrollTo(focus, rowHeight, Math.max(0, ROOM - top), window.innerHeight - 2 * ROOM);
    const wanted = inside + top + window.scrollY - ROOM;
    if (Math.max(0, ROOM - top) !== inside) window.scrollTo(0, wanted);
  }, [focus]);
  const { first, last } = visibleSlice(total, rowHeight, view.scrolled, view.height);
  const rows = [];
  for (let index = first; index < last; index++) rows.push(children(index));
  return (
    <div ref={place} class={`virtual ${name}`} role="rowgroup" style={{ height: `${total * rowHeight}px` }}>
      <div
        class="virtual-rows"
        role="presentation"
        style={{ transform: `translateY(${first * rowHeight}px)` }}
      >
        {rows}
      </div>
    </div>
  );
}

/** What the header takes at the top of the window. */
const ROOM = 60;
