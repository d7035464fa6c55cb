import { timestampFromText } from '../../values/timestamp.ts';

const day = /^\d{4}-\d{2}-\d{2}/.source;
const clock = /\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?/.source;
const zone = /[Zz]|[+-]\d{2}(?::?\d{2})?/.source;
const shape = new RegExp(`(${day})(?:[Tt ](${clock}) ?(${zone})?)?$`);

/**
 * Microseconds since 1970 of a moment as people and other databases write it: besides RFC 3339, the
 * time of day, its seconds, the offset (then it is UTC) and the offset's minutes can be missing.
 * Only for texts marked as times (`TIMESTAMP '…'`, casts); a column requires the offset.
 */
export function momentFromText(text: string): bigint | undefined {
  const match = shape.exec(text);
  if (match === null) return undefined;
  const [, date = '', time = '00:00', offset = 'Z'] = match;
  const full = time.length === 5 ? `${time}:00` : time.replace(/(\.\d{6})\d+/, '$1');
  const [, sign, hours, minutes = '00'] = /^([+-])(\d{2}):?(\d{2})?$/.exec(offset) ?? [];
  return timestampFromText(
    `${date}T${full}${sign === undefined ? 'Z' : `${sign}${hours}:${minutes}`}`,
  );
}
