import { invalid } from '../failure.ts';
import { findFunction } from '../functions/library.ts';
import { windowNames } from '../functions/windows.ts';
import type { SelectItem, Span } from '../syntax/ast.ts';
import { dialectTexts } from '../syntax/refusal.ts';
import type { SourceText } from '../syntax/source-text.ts';
import { functionHint, wordHint } from './foreign-hint.ts';
import { aggregateNames } from './written.ts';

type ExpressionItem = Extract<SelectItem, { readonly kind: 'expression' }>;

/**
 * Refuses SELECT lists that are not supported, before any name is looked up. `isTop`: the list of
 * the whole statement must obey stricter rules.
 */
export function requireItems(
  items: readonly SelectItem[],
  source: SourceText,
  isTop: boolean,
): void {
  const list = new ItemList(source);
  const [only] = items;
  if (items.length > 1 && items.some((item) => item.kind !== 'expression')) {
    throw invalid(dialectTexts.mixedWildcards, {
      place: only && source.place(only.span),
    });
  }
  if (!isTop) return;
  for (const item of items) {
    if (item.kind === 'expression') list.require(item, items.length === 1);
  }
}

class ItemList {
  readonly #source: SourceText;

  constructor(source: SourceText) {
    this.#source = source;
  }

  require(item: ExpressionItem, isAlone: boolean): void {
    const { alias, expression, isParenthesised, span } = item;
    const isCall = expression.kind === 'call' && !isParenthesised;
    if (isCall && isAlone) {
      const name = expression.name.toLowerCase();
      const isAggregate = aggregateNames.has(name);
      const isWindow = expression.modifiers?.over !== undefined;
      if (alias === undefined && ((isAggregate && !isWindow) || expression.isBare)) {
        const isUnknown = expression.isBare && findFunction(name) === undefined;
        const hint = isUnknown ? wordHint(name) : `Give it a name: ${this.#text(span)} AS name`;
        throw this.#refusal(dialectTexts.noAlias, span, hint);
      }
      const isKnown = isAggregate || windowNames.has(name) || findFunction(name) !== undefined;
      if (!isKnown) throw this.#unknownCall(expression.name, alias !== undefined, span);
      return;
    }
    if (expression.kind === 'unsupported') {
      throw this.#refusal(expression.message, expression.span, expression.hint);
    }
    const isColumn = expression.kind === 'column';
    const isUnknownWord =
      expression.kind === 'call' &&
      expression.isBare &&
      findFunction(expression.name) === undefined;
    const isRow = expression.kind === 'row';
    if ((isColumn && isParenthesised) || isUnknownWord || isRow) {
      const hint = isUnknownWord ? wordHint(expression.name) : undefined;
      throw this.#refusal(dialectTexts.projection(this.#text(span)), span, hint);
    }
  }

  /** The message takes it for an aggregate; what is wrong is its name. */
  #unknownCall(name: string, hasAlias: boolean, span: Span): Error {
    const near = functionHint(name);
    const hint = `There is no function \`${name}\`.${near === undefined ? '' : ` ${near}`}`;
    const message = hasAlias ? dialectTexts.aggregate(this.#text(span)) : dialectTexts.noAlias;
    return this.#refusal(message, span, hint);
  }

  #text(span: Span): string {
    return this.#source.text(span);
  }

  #refusal(message: string, span: Span, hint?: string): Error {
    return invalid(message, { place: this.#source.place(span), hint });
  }
}
