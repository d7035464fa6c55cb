/**
 * Puts quotes around the integers of a JSON text that a JavaScript number cannot hold: clients
 * parse structured results with `JSON.parse`, which would round them without a word.
 */
export function quoteWideIntegers(json: string): string {
  if (!/\d{16}/.test(json)) return json;
  return json.replace(tokens, (token) => (isWide(token) ? `"${token}"` : token));
}

/** Strings, and numbers outside of them. */
const tokens = /"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/g;

function isWide(token: string): boolean {
  return /^-?\d{16,}$/.test(token) && !Number.isSafeInteger(Number(token));
}

/** An object's JSON from the JSON of its members, with no integer that is too wide. */
export function structuredJson(members: Readonly<Record<string, string | undefined>>): string {
  const parts = Object.entries(members).flatMap(([name, json]) =>
    json === undefined ? [] : [`${JSON.stringify(name)}:${json}`],
  );
  return quoteWideIntegers(`{${parts.join(',')}}`);
}
