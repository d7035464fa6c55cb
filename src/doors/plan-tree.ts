/** A step of a plan; what it reads is below it. */
export interface PlanStep {
  /** What it does, such as `scan` or `join by hash`. */
  readonly operator: string;
  /** With what, as EXPLAIN writes it. */
  readonly detail: string;
  /** As the plan expects; absent where that is hidden from the caller. */
  readonly estimated_rows?: number;
  /** As EXPLAIN ANALYZE has measured: rows of all loops, loops, and milliseconds. */
  readonly rows?: number;
  readonly loops?: number;
  readonly millis?: number;
  readonly children: readonly PlanStep[];
}

/**
 * The lines of EXPLAIN as a tree: a line is a step, and lines below it that are indented further
 * are its inputs. Common tables and subqueries, which stand beside the plan, come last among the
 * inputs of its first step.
 */
export function planTree(lines: readonly string[]): PlanStep | undefined {
  const roots: Growing[] = [];
  const open: Growing[] = [];
  for (const line of lines) {
    const text = line.trimStart();
    const depth = (line.length - text.length) / 2;
    const step = stepOf(text);
    open.length = Math.min(open.length, depth);
    const above = open.at(-1);
    if (above === undefined) roots.push(step);
    else above.children.push(step);
    open.push(step);
  }
  const [first, ...others] = roots;
  first?.children.push(...others);
  return first;
}

/** Whether a statement begins with EXPLAIN, behind blanks and comments: one pass over these. */
export function isExplain(sql: string): boolean {
  let at = 0;
  for (;;) {
    while (/\s/.test(sql.charAt(at))) at += 1;
    if (sql.startsWith('--', at)) at = endOf(sql, '\n', at);
    else if (sql.startsWith('/*', at)) at = endOf(sql, '*/', at + 2);
    else return /^explain\b/i.test(sql.slice(at, at + 8));
  }
}

function endOf(sql: string, mark: string, from: number): number {
  const at = sql.indexOf(mark, from);
  return at === -1 ? sql.length : at + mark.length;
}

interface Growing extends PlanStep {
  readonly children: Growing[];
}

function stepOf(text: string): Growing {
  const { what, numbers } = withoutNumbers(text);
  const [operator = what] = operators.exec(what) ?? /^[^:]*/.exec(what) ?? [];
  const detail = what.slice(operator.length).replace(/^:? */, '');
  return { operator, detail, ...numbers, children: [] };
}

/** Longer ones first, where one begins as another does. */
const operators = new RegExp(
  `^(?:${[
    ...['insert into', 'update', 'delete from', 'output', 'sort, the first rows only', 'sort'],
    ...['recursive all', 'recursive', 'rows of the step before', 'elements of', 'window'],
    ...['distinct', '(?:union|intersect|except)(?: all)?', 'limit', 'offset', 'count of'],
    ...['one row', 'nothing', '(?:left )?join (?:in loops|by index|for each row|by hash on)'],
    ...['filter', 'first row', 'aggregate', 'scan', 'look up', 'nearest of', 'search', 'range of'],
    ...['rows of', 'common table', 'subquery'],
  ].join('|')})(?![\\w-])`,
);

type Numbers = Pick<PlanStep, 'estimated_rows' | 'rows' | 'loops' | 'millis'>;

/** The numbers are the last thing of a line. */
function withoutNumbers(text: string): { readonly what: string; readonly numbers: Numbers } {
  const found = numbersPattern.exec(text);
  const { about, rows, loops, millis } = found?.groups ?? {};
  if (found === null || (about === undefined && rows === undefined)) {
    return { what: text, numbers: {} };
  }
  const estimate = Number(about);
  return {
    what: text.slice(0, found.index),
    numbers: {
      ...(Number.isFinite(estimate) && { estimated_rows: estimate }),
      ...(rows !== undefined && { rows: Number(rows) }),
      ...(loops !== undefined && { loops: Number(loops) }),
      ...(millis !== undefined && { millis: Number(millis) }),
    },
  };
}

const about = String.raw`about (?<about>\S+) rows`;
const really = String.raw`really (?<rows>\d+) rows in (?<loops>\d+) loops, (?<millis>[\d.]+) ms`;
const numbersPattern = new RegExp(String.raw` \((?:${about})?(?:; )?(?:${really})?\)$`);
