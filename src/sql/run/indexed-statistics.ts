import { assert } from '../../assert.ts';
import type { TableSpec } from '../../schema/catalog.ts';
import { TextBody } from '../../store/text-body.ts';
import type { TypedSubquery } from '../check/typed-expression.ts';
import type { CompileContext } from '../expressions/compile-context.ts';
import { compileExpression } from '../expressions/compile-expression.ts';
import { encoded } from '../functions/text-statistics.ts';
import type { ExecutionState } from '../operators/execution-state.ts';
import { servedLanguage } from '../plan/search-access.ts';
import { boundedSearch } from './compile-search.ts';

/** The value of one execution; `undefined`: the rows have to be counted. */
export type KnownStatistics = (state: ExecutionState) => Uint8Array | undefined;

export interface StatisticsScope {
  readonly context: CompileContext;
  /** The number of a table in an execution. */
  readonly numberOf: (table: TableSpec) => number;
}

/**
 * What `rank` compares a text with, from the text index of its column instead of all rows;
 * `undefined` if no index can say it, or some rows are hidden. A read that has paused counts rows
 * if others have written meanwhile.
 */
export function indexedStatistics(
  { query: { body } }: TypedSubquery,
  scope: StatisticsScope,
): KnownStatistics | undefined {
  if (body.kind !== 'block') return undefined;
  const [relation, other] = body.relations;
  const [aggregate] = body.grouping?.aggregates ?? [];
  if (aggregate?.function.name !== 'text_statistics' || aggregate.argument?.kind !== 'call') {
    return undefined;
  }
  const isWhole = relation?.source.kind === 'table' && relation.security === undefined;
  if (!isWhole || relation.source.kind !== 'table' || other !== undefined) return undefined;
  const { table } = relation.source;
  const [text, query, named] = aggregate.argument.arguments;
  if (text?.kind !== 'column' || query === undefined) return undefined;
  const spec = table.derivedIndexes.find(
    ({ kind, column }) => kind === 'text' && column === text.column,
  );
  const language = spec && servedLanguage(spec, named);
  if (spec === undefined || language === undefined) return undefined;
  const evaluate = compileExpression(query, scope.context);
  const number = scope.numberOf(table);
  return (state) => {
    const source = state.sources?.[number];
    const isNow = source === undefined || ('isUnchanged' in source && source.isUnchanged === true);
    const asked = isNow ? evaluate(state) : null;
    const search = asked === null ? undefined : boundedSearch(asked, language);
    if (search === undefined) return undefined;
    const index = state.table(number).derivedIndexes.find((one) => one.spec.id === spec.id);
    assert(index?.body instanceof TextBody, `index ${spec.name} is there`);
    return encoded(index.body.index.statistics(search));
  };
}
