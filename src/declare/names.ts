/**
 * The spelling of generated clients: separators are dropped, the letter after one is upper case.
 *
 * @example
 * ```ts
 * toCamelCase('sent_at'); // 'sentAt'
 * ```
 */
export function toCamelCase(name: string): string {
  const joined = name.replace(/[-_ ]+(.?)/gu, (_, letter: string) => letter.toUpperCase());
  return joined.charAt(0).toLowerCase() + joined.slice(1);
}

/** The name of the type that belongs to a table or function: `sent_line` gives `SentLine`. */
export function toPascalCase(name: string): string {
  const camel = toCamelCase(name);
  return camel.charAt(0).toUpperCase() + camel.slice(1);
}

/** The index's name as the module spells it, from its table's and columns' keys. */
export function indexSourceName(
  table: string,
  columns: readonly string[],
  algorithm: string,
): string {
  return `${table}_${columns.join('_')}_idx_${algorithm}`;
}
