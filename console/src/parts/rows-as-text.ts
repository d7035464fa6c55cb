/** Rows as texts that other programs read. */
import type { Json } from '../service/json.ts';
import { literalOfText } from '../service/literals.ts';
import { quoteName } from '../service/sql.ts';
import type { Field } from '../service/types.ts';
import { plainValue, typedText } from './values.ts';

type Rows = readonly (readonly Json[])[];

/** Rows as JSON, with the names of columns. */
export function rowsAsJson(columns: readonly Field[], rows: Rows): string {
  return JSON.stringify(
    rows.map((row) => {
      return Object.fromEntries(
        columns.map(({ name, type }, at) => [name, plainValue(type, row[at])]),
      );
    }),
    null,
    2,
  );
}

/**
 * Rows as CSV after RFC 4180, with a head. A text that a spreadsheet would run as a formula has a
 * `'` before it: rows can be of strangers.
 */
export function rowsAsCsv(columns: readonly Field[], rows: Rows): string {
  const cell = (text: string) => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  const harmless = (text: string) => (/^[=+\-@\t\r\n]/.test(text) ? `'${text}` : text);
  const lines = rows.map((row) =>
    columns.map(({ type }, at) => {
      const text = typedText(type, row[at]);
      const inner = type.kind === 'option' ? type.some() : type;
      return cell(inner.kind === 'string' ? harmless(text) : text);
    }),
  );
  return [columns.map(({ name }) => cell(harmless(name))), ...lines]
    .map((line) => line.join(','))
    .join('\r\n');
}

/** Rows as statements that insert them; columns without a literal are left as remarks. */
export function rowsAsSql(table: string, columns: readonly Field[], rows: Rows): string {
  const written = columns.map((field, at) => ({ field, at }));
  const names = written.map(({ field }) => quoteName(field.name)).join(', ');
  return rows
    .map((row) => {
      const values = written.map(({ field, at }) => {
        const literal = literalOfText(field.type, typedText(field.type, row[at]));
        const plain = JSON.stringify(plainValue(field.type, row[at])).replaceAll('*/', '* /');
        return literal.kind === 'literal' ? literal.sql : `DEFAULT /* ${plain} */`;
      });
      return `INSERT INTO ${quoteName(table)} (${names}) VALUES (${values.join(', ')});`;
    })
    .join('\n');
}
