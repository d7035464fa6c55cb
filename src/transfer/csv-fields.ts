/**
 * One record of CSV as RFC 4180 has it, without the end of its line:
 *
 * ```
 * record  field *( "," field )
 * field   quoted | plain
 * quoted  `"` *( any character but `"` | `""` ) `"`
 * plain   *( any character but `"`, `,` and ends of lines )
 * ```
 *
 * An empty plain field stands for no value, and `""` for an empty text.
 */
export interface CsvField {
  readonly text: string;
  readonly isQuoted: boolean;
}

/** The fields of a record, or what is wrong with it. */
export function csvFields(record: string): readonly CsvField[] | { readonly fault: string } {
  const fields: CsvField[] = [];
  let at = 0;
  for (;;) {
    if (record[at] === '"') {
      const end = closingQuote(record, at);
      if (end < 0)
        return { fault: `field ${fields.length + 1} begins with a quote that is never closed` };
      const text = record.slice(at + 1, end);
      fields.push({ text: text.includes('"') ? text.replaceAll('""', '"') : text, isQuoted: true });
      at = end + 1;
      if (at < record.length && record[at] !== ',') {
        return { fault: `field ${fields.length} goes on after its closing quote` };
      }
    } else {
      const comma = record.indexOf(',', at);
      const text = record.slice(at, comma < 0 ? undefined : comma);
      if (text.includes('"')) {
        const advice = 'quote the whole field, and double the quotes in it';
        return { fault: `field ${fields.length + 1} has a quote inside: ${advice}` };
      }
      fields.push({ text, isQuoted: false });
      at += text.length;
    }
    if (at >= record.length) return fields;
    at += 1;
  }
}

/** Position of the quote that closes the field beginning at `start`; -1: none does. */
function closingQuote(record: string, start: number): number {
  for (let at = start + 1; ; at += 2) {
    at = record.indexOf('"', at);
    if (at < 0 || record[at + 1] !== '"') return at;
  }
}

/** A field with this text; it is never the empty plain one. */
export function csvField(text: string): string {
  return text === '' || needsQuotes.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

const needsQuotes = /[",\r\n]/;
