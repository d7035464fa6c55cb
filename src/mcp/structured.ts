/**
 * Quotes the integers of a JSON text that a JavaScript number cannot hold: clients parse structured
 * results with `JSON.parse`, which would silently round them.
 */
export function quoteWideIntegers(json: string): string {
  if (!/\d{16}/.test(json)) return json;
  const parts: string[] = [];
  for (let at = 0; at < json.length; ) {
    const quote = json.indexOf('"', at);
    const start = quote < 0 ? json.length : quote;
    const end = endOfString(json, start);
    parts.push(json.slice(at, start).replace(numbers, quotedWhenWide), json.slice(start, end));
    at = end;
  }
  return parts.join('');
}

const numbers = /-?\d[\d.eE+-]*/g;

function quotedWhenWide(number: string): string {
  return isWide(number) ? `"${number}"` : number;
}

/** Returns the index after the closing quote. Not a pattern: a string may be too long for one. */
function endOfString(json: string, start: number): number {
  let at = start + 1;
  for (;;) {
    const quote = json.indexOf('"', at);
    if (quote < 0) return json.length;
    let slashes = 0;
    while (json[quote - 1 - slashes] === '\\') slashes += 1;
    if (slashes % 2 === 0) return quote + 1;
    at = quote + 1;
  }
}

function isWide(token: string): boolean {
  return /^-?\d{16,}$/.test(token) && !Number.isSafeInteger(Number(token));
}

/** Builds an object's JSON from the JSON of its members, with wide integers quoted. */
export function structuredJson(members: Readonly<Record<string, string | undefined>>): string {
  const parts = Object.entries(members).flatMap(([name, json]) =>
    json === undefined ? [] : [`${JSON.stringify(name)}:${json}`],
  );
  return quoteWideIntegers(`{${parts.join(',')}}`);
}
