/** The plan that EXPLAIN writes as lines, as a tree. */
import type { Json } from '../../service/json.ts';

export interface PlanStep {
  readonly id: string;
  readonly text: string;
  /** About how many rows the planner expects. */
  readonly estimated: number | null;
  /** With ANALYZE: how many there were, in how many loops, and how long all of it took. */
  readonly rows: number | null;
  readonly loops: number | null;
  readonly millis: number | null;
  readonly children: readonly PlanStep[];
}

interface Draft extends Omit<PlanStep, 'children'> {
  readonly depth: number;
  readonly children: Draft[];
}

/** A line is indented below the step that reads it. */
export function planOf(rows: readonly (readonly Json[])[]): readonly PlanStep[] {
  const roots: Draft[] = [];
  const open: Draft[] = [];
  rows.forEach(([line], at) => {
    const step = stepOf(String(line), at);
    while (open.length > 0 && (open.at(-1)?.depth ?? 0) >= step.depth) open.pop();
    (open.at(-1)?.children ?? roots).push(step);
    open.push(step);
  });
  return roots;
}

const expected = String.raw`(?:about ([\d,]+) rows?)?`;
const measured = String.raw`(?: ?really ([\d,]+) rows? in ([\d,]+) loops?, ([\d.,]+) ms)?`;
/** What EXPLAIN adds to a line, such as `(about 3 rows; really 3 rows in 1 loops, 0.18 ms)`. */
const numbers = new RegExp(String.raw`\(${expected};?${measured}\)\s*$`);

function stepOf(line: string, at: number): Draft {
  const depth = line.length - line.trimStart().length;
  const found = numbers.exec(line);
  const number = (text: string | undefined) => {
    return text === undefined ? null : Number(text.replaceAll(',', ''));
  };
  return {
    id: `step ${at}`,
    depth,
    text: (found === null ? line : line.slice(0, found.index)).trim(),
    estimated: number(found?.[1]),
    rows: number(found?.[2]),
    loops: number(found?.[3]),
    millis: number(found?.[4]),
    children: [],
  };
}
