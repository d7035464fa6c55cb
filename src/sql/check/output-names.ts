import type { Expression, SelectItem } from '../syntax/ast.ts';

/** How an output column got its name: only names that were written can clash. */
export interface ItemName {
  readonly text: string;
  readonly isWritten: boolean;
}

/** The text for a list of names that is longer than the list of columns that it names. */
export function namesFault(nameCount: number, columnCount: number): string {
  return `There are ${nameCount} names for ${columnCount} columns`;
}

export function nameOfItem(
  item: Extract<SelectItem, { readonly kind: 'expression' }>,
  position: number,
): ItemName {
  if (item.alias !== undefined) return { text: item.alias, isWritten: true };
  const { expression } = item;
  if (expression.kind === 'column') {
    return { text: expression.parts.at(-1) ?? '', isWritten: true };
  }
  return { text: derivedName(expression) ?? `column_${position + 1}`, isWritten: false };
}

function derivedName(expression: Expression): string | undefined {
  switch (expression.kind) {
    case 'call':
      return expression.name.toLowerCase();
    case 'case':
    case 'exists':
      return expression.kind;
    case 'field':
      return expression.name;
    default:
      return undefined;
  }
}

/** Generated names give way: `upper`, `upper_2`, `upper_3`. */
export function distinctNames(names: readonly ItemName[]): readonly string[] {
  const taken = new Set(names.flatMap(({ text, isWritten }) => (isWritten ? [text] : [])));
  const counts = new Map<string, number>();
  return names.map(({ text, isWritten }) => {
    if (isWritten) return text;
    let count = counts.get(text) ?? 1;
    let name = count === 1 ? text : `${text}_${count}`;
    while (taken.has(name)) {
      count++;
      name = `${text}_${count}`;
    }
    taken.add(name);
    counts.set(text, count);
    return name;
  });
}
