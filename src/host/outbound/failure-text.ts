/** The causes of an error, outermost first, joined by `: `. */
export function causesOf(error: unknown): string {
  const texts: string[] = [];
  let next = error;
  for (let depth = 0; next !== undefined && depth < 8; depth += 1) {
    // Several addresses were tried: the first one's error stands for all.
    if (next instanceof AggregateError && next.message === '') next = next.errors[0];
    if (!(next instanceof Error)) break;
    if (next.message !== '' && !texts.includes(next.message)) texts.push(next.message);
    next = next.cause;
  }
  return texts.length === 0 ? 'unknown error' : texts.join(': ');
}

/** A URL for error texts: what follows the path can hold secrets, and so can a user. */
export function shownUrl(url: URL): string {
  return `${url.protocol}//${url.host}${url.pathname}`;
}
