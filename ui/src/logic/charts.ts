/** The columns of the charts of cost and pools. */
import type { CostTables, PoolTable } from "../api/types";

type Column = Array<number | null>;

/** Returns times, spending, spending with reservations, P50, P90 and the ceiling; the forecast starts where spending ends. */
export function costColumns(tables: CostTables): [Column, Column, Column, Column, Column, Column] {
  const { points, cone } = tables;
  const last = points.at(-1);
  const times: Column = [...points.map(point => point.at), ...cone.map(([at]) => at)];
  const none = (count: number): Column => new Array(count).fill(null);
  const known = (values: number[]): Column => [...values, ...none(cone.length)];
  const ahead = (values: number[]): Column => [
    ...none(Math.max(0, points.length - 1)),
    ...(last ? [last.spent] : []),
    ...values,
  ];
  return [
    times,
    known(points.map(point => point.spent)),
    known(points.map(point => point.spent + point.reserved)),
    ahead(cone.map(([, middle]) => middle)),
    ahead(cone.map(([, , high]) => high)),
    tables.costs.ceiling === null ? none(times.length) : times.map(() => tables.costs.ceiling),
  ];
}

/** Returns times, use and size of a pool, up to now. */
export function poolColumns(pool: PoolTable, now: number): [Column, Column, Column] {
  const times = pool.history.map(([at]) => at);
  const used = pool.history.map(([, number]) => number);
  const last = used.at(-1);
  if (last !== undefined && now > (times.at(-1) ?? 0)) {
    times.push(now);
    used.push(last);
  }
  return [times, used, times.map(() => pool.size)];
}
