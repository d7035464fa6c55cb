import type { Kind } from './kinds.ts';

/** A cell in neither engine's form: a number is a bigint when its kind has no fractions. */
export type Cell = string | number | bigint | boolean | null;

export type Answer =
  | { readonly kind: 'rows'; readonly rows: readonly (readonly Cell[])[] }
  | {
      readonly kind: 'refused';
      readonly reason: 'division' | 'overflow' | 'unique' | 'other';
      readonly message: string;
    };

/** The cell whose text this is. */
export function canonicalCell(kind: Kind, text: string): Cell {
  switch (kind) {
    case 'string':
    case 'enum':
    case 'uuid':
    case 'bytes':
    case 'bool':
    case 'timestamp':
      return text;
    case 'f32':
      // Written with as few digits as tell it from its neighbours.
      return Math.fround(Number(text));
    case 'f64':
      return Number(text);
    default:
      return wholeNumber(text);
  }
}

/** A `numeric` may have zeros behind its point. */
function wholeNumber(text: string): bigint | string {
  const [whole = '', fraction = ''] = text.split('.');
  return /^0*$/.test(fraction) ? BigInt(whole) : text;
}

export interface Comparison {
  /** Positions of the columns that are in order, and how many of the rows that decides. */
  readonly orderedBy: readonly number[];
}

/** What differs between the two, in words; `undefined` when nothing does. */
export function difference(
  ours: Answer,
  theirs: Answer,
  { orderedBy }: Comparison,
): string | undefined {
  if (ours.kind === 'refused' || theirs.kind === 'refused') {
    if (ours.kind === 'rows') return `only PostgreSQL refuses: ${messageOf(theirs)}`;
    if (theirs.kind === 'rows') return `only ours refuses: ${ours.message}`;
    return ours.reason === theirs.reason ? undefined : 'the engines refuse for different reasons';
  }
  const keysOf = (answer: Extract<Answer, { kind: 'rows' }>) =>
    answer.rows.map((row) => orderedBy.map((at) => cellText(row[at] ?? null)).join(' | '));
  if (keysOf(ours).join('\n') !== keysOf(theirs).join('\n') && orderedBy.length > 0) {
    return 'the rows come in another order';
  }
  const bag = (answer: Extract<Answer, { kind: 'rows' }>) =>
    answer.rows
      .map((row) => row.map(cellText).join(' | '))
      .sort()
      .join('\n');
  return bag(ours) === bag(theirs) ? undefined : 'the rows differ';
}

function messageOf(answer: Answer): string {
  return answer.kind === 'refused' ? answer.message : '';
}

/** Sums of fractions may differ in the last bits, so only twelve digits are compared. */
export function cellText(cell: Cell): string {
  if (typeof cell === 'number') return Number(cell.toPrecision(12)).toString().replace(/^-0$/, '0');
  return typeof cell === 'string' ? JSON.stringify(cell) : String(cell);
}
