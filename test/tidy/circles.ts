import { importsOf, isTest, resolveImport, type SourceFile } from './source-file.ts';

/**
 * Files that import each other in a circle, types included: each circle as its files in path
 * order. Two circles that share a file are one.
 */
export function circlesOf(files: readonly SourceFile[]): string[][] {
  const paths = new Set(files.map(({ path }) => path));
  const targets = new Map(
    files
      .filter(({ path }) => !isTest(path))
      .map(({ path, text }) => [
        path,
        importsOf(text)
          .filter((specifier) => specifier.startsWith('.'))
          .map((specifier) => resolveImport(path, specifier))
          .filter((target) => paths.has(target)),
      ]),
  );
  return new Components(targets).found
    .filter((component) => component.length > 1)
    .map((component) => component.sort())
    .sort(([one = ''], [other = '']) => (one < other ? -1 : 1));
}

interface Visit {
  readonly number: number;
  low: number;
  isOpen: boolean;
}

/** Strongly connected components, as R. Tarjan found them ("Depth-first search", 1972). */
class Components {
  readonly found: string[][] = [];
  readonly #targets: ReadonlyMap<string, readonly string[]>;
  readonly #visits = new Map<string, Visit>();
  readonly #open: string[] = [];

  constructor(targets: ReadonlyMap<string, readonly string[]>) {
    this.#targets = targets;
    for (const node of targets.keys()) if (!this.#visits.has(node)) this.#visit(node);
  }

  #visit(node: string): Visit {
    const visit = { number: this.#visits.size, low: this.#visits.size, isOpen: true };
    this.#visits.set(node, visit);
    this.#open.push(node);
    for (const target of this.#targets.get(node) ?? []) {
      const seen = this.#visits.get(target);
      if (seen === undefined) visit.low = Math.min(visit.low, this.#visit(target).low);
      else if (seen.isOpen) visit.low = Math.min(visit.low, seen.number);
    }
    if (visit.low === visit.number) this.#close(node);
    return visit;
  }

  #close(root: string): void {
    const component = this.#open.splice(this.#open.indexOf(root));
    for (const node of component) {
      const visit = this.#visits.get(node);
      if (visit !== undefined) visit.isOpen = false;
    }
    this.found.push(component);
  }
}

/**
 * The circles that there may be: what is defined by recursion, in several files because it is long.
 * In path order of their first files.
 */
export const recursions: readonly { readonly why: string; readonly files: readonly string[] }[] = [
  {
    why: 'a context gives a subscription builder, whose callbacks are given contexts',
    files: ['src/client/contexts.ts', 'src/client/subscription-builder.ts'],
  },
  {
    why: 'calls predict on drafts, and drafts have the tables of the module',
    files: ['src/client/draft.ts', 'src/client/module-types.ts'],
  },
  {
    why: 'conditions are of columns, and columns make conditions',
    files: ['src/declare/query-expression.ts', 'src/declare/query-types.ts'],
  },
  {
    why: 'a router is exported, and has handlers that are exported',
    files: ['src/server/functions.ts', 'src/server/registration.ts', 'src/server/router.ts'],
  },
  {
    why: 'queries have expressions, and expressions have subqueries',
    files: [
      'src/sql/check/check-from.ts',
      'src/sql/check/check-grouping.ts',
      'src/sql/check/check-order.ts',
      'src/sql/check/check-query.ts',
      'src/sql/check/check-recursive.ts',
      'src/sql/check/check-select.ts',
      'src/sql/check/check-unnest.ts',
      'src/sql/check/coerce-query.ts',
      'src/sql/check/row-security.ts',
      'src/sql/check/text-language.ts',
      'src/sql/check/type-aggregate.ts',
      'src/sql/check/type-arithmetic.ts',
      'src/sql/check/type-array.ts',
      'src/sql/check/type-call.ts',
      'src/sql/check/type-case.ts',
      'src/sql/check/type-cast.ts',
      'src/sql/check/type-comparison.ts',
      'src/sql/check/type-expression.ts',
      'src/sql/check/type-json.ts',
      'src/sql/check/type-rank.ts',
      'src/sql/check/type-subquery.ts',
      'src/sql/check/type-window.ts',
      'src/sql/check/unify.ts',
    ],
  },
  {
    why: 'expressions are made of expressions',
    files: [
      'src/sql/expressions/compile-call.ts',
      'src/sql/expressions/compile-comparison.ts',
      'src/sql/expressions/compile-condition.ts',
      'src/sql/expressions/compile-convert.ts',
      'src/sql/expressions/compile-distance.ts',
      'src/sql/expressions/compile-expression.ts',
      'src/sql/expressions/compile-in-list.ts',
      'src/sql/expressions/compile-like.ts',
    ],
  },
  {
    why: 'plans have subqueries, which are plans',
    files: ['src/sql/run/compile-plan.ts', 'src/sql/run/subqueries.ts'],
  },
  {
    why: 'the grammar recurs',
    files: [
      'src/sql/syntax/parse-call.ts',
      'src/sql/syntax/parse-expression.ts',
      'src/sql/syntax/parse-from.ts',
      'src/sql/syntax/parse-operand.ts',
      'src/sql/syntax/parse-operation.ts',
      'src/sql/syntax/parse-query.ts',
      'src/sql/syntax/parse-select.ts',
      'src/sql/syntax/parse-type.ts',
      'src/sql/syntax/parse-window.ts',
    ],
  },
  {
    why: 'a table has indexes and pins, which know their table',
    files: [
      'src/store/later-rows.ts',
      'src/store/pinned-rows.ts',
      'src/store/table-changes.ts',
      'src/store/table-index.ts',
      'src/store/table-pin.ts',
      'src/store/table.ts',
    ],
  },
];
