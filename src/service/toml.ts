import { parse, stringify } from 'smol-toml';

/** Parses TOML into plain values. Throws an `Error` that says what is wrong and where. */
export function parseToml(text: string): Record<string, unknown> {
  return parse(text);
}

export function formatToml(table: Record<string, unknown>): string {
  return stringify(table);
}
