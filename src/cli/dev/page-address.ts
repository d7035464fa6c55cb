/** The origin is read strictly: a port ends where its digits end. */
const loopbackAddress = new RegExp(
  [
    /\bhttps?:\/\/(?:localhost|127\.0\.0\.1|\[::1\])/,
    /(?::\d{1,5})?(?![\w@-]|:\S|\.\w)(?:[/?#][^\s'"`<>]*)?/,
  ]
    .map(({ source }) => source)
    .join(''),
  'gi',
);

/** Punctuation of the sentence around an address. */
const sentenceEnd = /[.,;:!?)\]}*_…]+$/;

/**
 * The first address on this machine in a line of a program's output, without the punctuation that
 * follows it; `undefined` if there is none. What looks like an address and is none, such as one
 * with the port 99999, is skipped.
 */
export function pageAddress(line: string): string | undefined {
  for (const [found] of line.matchAll(loopbackAddress)) {
    const [, origin = '', rest = ''] = /^(\w+:\/\/[^/?#]*)(.*)$/.exec(found) ?? [];
    const address = `${origin}${rest.replace(sentenceEnd, '')}`;
    if (URL.canParse(address)) return address;
  }
  return undefined;
}
