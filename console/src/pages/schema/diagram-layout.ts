import { referencesOf } from '../../service/references.ts';
import type { DatabaseSchema, TableSchema } from '../../service/schema.ts';

/** A table in the diagram; lengths are units of the drawing. */
export interface Box {
  readonly table: TableSchema;
  readonly x: number;
  readonly y: number;
  readonly height: number;
  /** Columns that are not drawn, because there are too many. */
  readonly hidden: number;
}

/** A line from a column to the key that it holds. */
export interface Edge {
  readonly from: string;
  readonly to: string;
  readonly key: string;
  readonly path: string;
}

export interface Layout {
  readonly boxes: readonly Box[];
  readonly edges: readonly Edge[];
  readonly width: number;
  readonly height: number;
  /** Tables that are not drawn, because there are too many. */
  readonly left: number;
}

export const boxWidth = 220;
export const headHeight = 32;
export const rowHeight = 22;
const footHeight = 8;
const [gapX, gapY] = [90, 28];
const columnsMax = 14;
/** More boxes are no picture any more. */
export const drawnTablesMax = 150;

/**
 * Places tables in columns: those that nothing refers to on the left, and each table right of those
 * that refer to it, as far as there is no circle. Tables without references come last, in a grid.
 */
export function layoutOf(schema: DatabaseSchema): Layout {
  const all = schema.tables.filter(({ kind }) => kind !== 'system');
  const tables = drawn(schema, all);
  const references = referencesOf({ ...schema, tables });
  const targets = new Map<string, Set<string>>();
  for (const { from, to } of references) {
    if (from.table === to.table) continue;
    targets.set(from.table, (targets.get(from.table) ?? new Set()).add(to.table));
  }
  const linked = new Set(references.flatMap(({ from, to }) => [from.table, to.table]));
  const depths = depthsOf([...linked], targets);
  const levels: TableSchema[][] = [];
  for (const table of tables.filter(({ name }) => linked.has(name))) {
    const depth = depths.get(table.name) ?? 0;
    levels[depth] = [...(levels[depth] ?? []), table];
  }
  const columns = [...levels.filter((level) => level !== undefined), ...grid(tables, linked)];
  const boxes = columns.flatMap((column, at) => placed(column, at * (boxWidth + gapX)));
  const byName = new Map(boxes.map((box) => [box.table.name, box]));
  const edges = references.flatMap(({ from, to }): Edge[] => {
    const [start, end] = [byName.get(from.table), byName.get(to.table)];
    if (start === undefined || end === undefined) return [];
    const path = curve(start, rowOf(start, from.column), end, rowOf(end, to.column));
    return [{ from: from.table, to: to.table, key: `${from.table}.${from.column}`, path }];
  });
  const width = Math.max(0, ...boxes.map(({ x }) => x + boxWidth));
  const height = Math.max(0, ...boxes.map(({ y, height: own }) => y + own));
  return { boxes, edges, width, height, left: all.length - tables.length };
}

/** All tables, or of too many those with references first. */
function drawn(schema: DatabaseSchema, all: readonly TableSchema[]): readonly TableSchema[] {
  if (all.length <= drawnTablesMax) return all;
  const references = referencesOf({ ...schema, tables: all });
  const linked = new Set(references.flatMap(({ from, to }) => [from.table, to.table]));
  const first = all.filter(({ name }) => linked.has(name));
  const others = all.filter(({ name }) => !linked.has(name));
  return [...first, ...others].slice(0, drawnTablesMax);
}

/** How many steps of references lead to a table; a circle ends where it closes. */
function depthsOf(
  names: readonly string[],
  targets: ReadonlyMap<string, ReadonlySet<string>>,
): ReadonlyMap<string, number> {
  const depths = new Map<string, number>(names.map((name) => [name, 0]));
  // Each round moves targets right of their sources; more rounds than tables are a circle.
  for (let round = 0; round < names.length; round += 1) {
    let isMoved = false;
    for (const [from, all] of targets) {
      for (const to of all) {
        const least = (depths.get(from) ?? 0) + 1;
        if ((depths.get(to) ?? 0) >= least || least >= names.length) continue;
        depths.set(to, least);
        isMoved = true;
      }
    }
    if (!isMoved) break;
  }
  return depths;
}

/** Tables without references, in columns of about the same height. */
function grid(tables: readonly TableSchema[], linked: ReadonlySet<string>): TableSchema[][] {
  const alone = tables.filter(({ name }) => !linked.has(name));
  const perColumn = Math.max(3, Math.ceil(Math.sqrt(alone.length)));
  const columns: TableSchema[][] = [];
  for (let at = 0; at < alone.length; at += perColumn) {
    columns.push(alone.slice(at, at + perColumn));
  }
  return columns;
}

function placed(tables: readonly TableSchema[], x: number): Box[] {
  let y = 0;
  return tables.map((table) => {
    const count = Math.min(table.columns.length, columnsMax);
    const hidden = table.columns.length - count;
    const height = headHeight + (count + (hidden > 0 ? 1 : 0)) * rowHeight + footHeight;
    const box = { table, x, y, height, hidden };
    y += height + gapY;
    return box;
  });
}

/** The middle of a column's line. */
function rowOf({ table, y, hidden }: Box, column: string): number {
  const shown = table.columns.length - hidden;
  const at = table.columns.findIndex(({ name }) => name === column);
  return y + headHeight + (Math.min(at, shown) + 0.5) * rowHeight;
}

function curve(start: Box, startY: number, end: Box, endY: number): string {
  if (start === end || start.x === end.x) {
    const x = start.x + boxWidth;
    return `M${x} ${startY} C${x + 50} ${startY} ${x + 50} ${endY} ${x} ${endY}`;
  }
  const isRight = end.x > start.x;
  const x1 = isRight ? start.x + boxWidth : start.x;
  const x2 = isRight ? end.x : end.x + boxWidth;
  const bend = Math.max(40, Math.abs(x2 - x1) / 2) * (isRight ? 1 : -1);
  return `M${x1} ${startY} C${x1 + bend} ${startY} ${x2 - bend} ${endY} ${x2} ${endY}`;
}
