import type { CompileContext } from '../expressions/compile-context.ts';
import { compileRuler } from '../expressions/compile-distance.ts';
import type { NearFinder } from '../operators/nearest-scan.ts';
import { metricOf } from '../plan/nearest-access.ts';
import type { Access } from '../plan/plan.ts';
import { derivedIndexOf, inOrderOnce } from './compile-search.ts';

/**
 * Finds rows by an index of vectors. All rows are looked at where that cannot answer, and where
 * the vector has another length: then that is what the statement fails with.
 */
export function compileNearest(
  { index: spec, wanted }: Extract<Access, { readonly kind: 'nearest' }>,
  number: number,
  context: CompileContext,
): NearFinder {
  const rulerFor = compileRuler(metricOf(spec), wanted, context);
  return (state, width) => {
    const ruler = rulerFor(state);
    const table = state.table(number);
    const length = table.spec.columns[spec.column]?.vectorLength;
    if (ruler === undefined || ruler.wanted.length !== length) return undefined;
    const source = state.sources?.[number] ?? table;
    const request = { kind: 'nearest', ruler, width } as const;
    const found = source.search(derivedIndexOf(table, spec), request);
    return found && inOrderOnce(found);
  };
}
