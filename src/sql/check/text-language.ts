import { languageOf, plainLanguage } from '../../schema/languages.ts';
import { highlightMark } from '../functions/full-text.ts';
import type { Call, Expression } from '../syntax/ast.ts';
import type { Environment } from './context.ts';
import { unwrapped } from './field.ts';
import type { ScopeRelation } from './scope.ts';
import { infer } from './type-expression.ts';

export function isFullText(name: string): boolean {
  return name === 'search' || name === 'rank' || name === 'highlight';
}

/** The call with the language of the text index of its column, if it names none. */
export function withLanguage(call: Call, environment: Environment): Call {
  const [text, query, before, after, third] = call.arguments;
  if (text === undefined || query === undefined) return call;
  const isHighlight = call.name.toLowerCase() === 'highlight';
  const isNamed = isHighlight ? third !== undefined : before !== undefined;
  if (isNamed || (before !== undefined && after === undefined)) return call;
  const language = languageOfColumn(text, environment);
  if (language === plainLanguage) return call;
  const { span } = call;
  const mark: Expression = { kind: 'string', text: highlightMark, span };
  const marks = isHighlight ? [before ?? mark, after ?? mark] : [];
  return { ...call, arguments: [text, query, ...marks, { kind: 'string', text: language, span }] };
}

function languageOfColumn(written: Expression, environment: Environment): string {
  if (written.kind !== 'column') return plainLanguage;
  const typed = infer(written, environment);
  const column = typed && unwrapped(typed, environment);
  if (column?.kind !== 'column') return plainLanguage;
  const { table } = relationOfSlot(column.slot, environment) ?? {};
  const indexes = table?.derivedIndexes ?? [];
  const own = indexes.find(({ kind, column: of }) => kind === 'text' && of === column.column);
  return languageOf(own?.options ?? []);
}

/** The relation in scope, here or around, that has the slot. */
export function relationOfSlot(
  slot: number,
  { scope: innermost }: Environment,
): ScopeRelation | undefined {
  for (let scope: Environment['scope'] | undefined = innermost; scope !== undefined; ) {
    const found = scope.relations.find((relation) => relation.slot === slot);
    if (found !== undefined) return found;
    scope = scope.outer;
  }
  return undefined;
}
