import { JsonNumber, JsonObject, type JsonValue, member, valueFromJson } from '../values/json.ts';
import { plainWriterOf } from '../values/plain.ts';
import { specialKindOf } from '../values/special-types.ts';
import type { AlgebraicType, ScalarKind } from '../values/type.ts';
import { typeFromJson } from '../values/type-codec.ts';
import type { SumValue, Value } from '../values/value.ts';
import { elementsOf } from './json-parts.ts';
import { safeText } from './safe-text.ts';

/** One result of a statement, ready to be shown to people. */
export interface TextTable {
  readonly header: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

/** Reads one result of the service's answer; values are in the plain form. */
export function readResult(result: JsonValue): TextTable {
  const columns = elementsOf(member(member(result, 'schema'), 'elements')).map((element, at) => ({
    name: columnName(member(element, 'name'), at),
    type: typeFromJson(member(element, 'algebraic_type') ?? null),
  }));
  const rows = elementsOf(member(result, 'rows')).map((row) =>
    elementsOf(row).map((value, at) => cellText(columns[at]?.type, value)),
  );
  return { header: columns.map(({ name }) => name), rows };
}

/** The rows of a result as a table, and below it what the statement wrote. */
export function resultText(result: JsonValue): string {
  const table = readResult(result);
  const written = writtenText(result);
  if (table.header.length === 0) return written ?? 'No rows changed';
  return written === undefined ? drawTable(table) : `${drawTable(table)}\n${written}`;
}

/** `2 rows inserted, 1 row updated`; `undefined` if nothing was written. */
function writtenText(result: JsonValue): string | undefined {
  const stats = member(result, 'stats');
  const counts = ['inserted', 'updated', 'deleted'].flatMap((word) => {
    const value = member(stats, `rows_${word}`);
    const count = value instanceof JsonNumber ? Number(value.text) : 0;
    return count === 0 ? [] : [`${count} ${count === 1 ? 'row' : 'rows'} ${word}`];
  });
  return counts.length === 0 ? undefined : counts.join(', ');
}

/** Draws a table: a space around each cell, a rule below the header, no outer borders. */
export function drawTable(given: TextTable): string {
  const header = given.header.map(oneLine);
  const rows = given.rows.map((row) => row.map(oneLine));
  const widths = header.map((name, at) =>
    Math.max(width(name), ...rows.map((row) => width(row[at] ?? ''))),
  );
  const line = (cells: readonly string[]) =>
    cells.map((cell, at) => ` ${cell}${' '.repeat((widths[at] ?? 0) - width(cell))} `).join('|');
  const rule = widths.map((columns) => '-'.repeat(columns + 2)).join('+');
  return [line(header), rule, ...rows.map(line)].join('\n');
}

function cellText(type: AlgebraicType | undefined, json: JsonValue): string {
  if (type === undefined) return '';
  if (json === null) return 'NaN';
  // The answer names a recursive type instead of writing it out: its values stay JSON.
  if (refersElsewhere(type)) return compactJson(json);
  const value = valueFromJson(type, json);
  const text = textIn(type, value);
  if (text !== undefined) return `"${text}"`;
  // Only a text of the module could be mistaken for another value without its quotes.
  return plainWriterOf(type)(value).replace(/^"(.*)"$/, '$1');
}

/** The text that a value of the module's own is, or holds as an option. */
function textIn(type: AlgebraicType, value: Value): string | undefined {
  if (type.kind === 'string') return String(value);
  const some =
    type.kind === 'sum' && specialKindOf(type) === 'option' ? type.variants[0] : undefined;
  if (some?.type.kind !== 'string') return undefined;
  const { tag, value: payload } = value as SumValue;
  return tag === 0 ? String(payload) : undefined;
}

function refersElsewhere(type: AlgebraicType): boolean {
  switch (type.kind) {
    case 'ref':
      return true;
    case 'product':
      return type.elements.some((element) => refersElsewhere(element.type));
    case 'sum':
      return type.variants.some((variant) => refersElsewhere(variant.type));
    case 'array':
      return refersElsewhere(type.element);
    default:
      type.kind satisfies ScalarKind;
      return false;
  }
}

function compactJson(value: JsonValue): string {
  if (Array.isArray(value)) return `[${value.map(compactJson).join(',')}]`;
  if (value instanceof JsonNumber) return value.text;
  if (value instanceof JsonObject) {
    const fields = value.entries.map(
      ([key, item]) => `${JSON.stringify(key)}:${compactJson(item)}`,
    );
    return `{${fields.join(',')}}`;
  }
  return JSON.stringify(value);
}

function columnName(name: JsonValue | undefined, at: number): string {
  const some = member(name, 'some');
  return typeof some === 'string' ? some : `column ${at}`;
}

/** A cell that nothing in it can make look like several. */
function oneLine(cell: string): string {
  return safeText(cell).replaceAll('\n', '\\n');
}

/** Columns that a text takes on a terminal, approximated by its code points. */
function width(text: string): number {
  return [...text].length;
}
