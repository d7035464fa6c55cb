/** The same program with a source map that calls the files whose names `from` matches by another name. */
export function withSourceName(program: Uint8Array, from: RegExp, name: string): Uint8Array {
  const text = new TextDecoder().decode(program);
  const [before = '', encoded = ''] = text.split(mapComment);
  const map = JSON.parse(Buffer.from(encoded.trim(), 'base64').toString()) as { sources: string[] };
  const sources = map.sources.map((source) => (from.test(source) ? name : source));
  const changed = JSON.stringify({ ...map, sources, sourcesContent: undefined });
  const url = Buffer.from(changed).toString('base64');
  return new TextEncoder().encode(`${before}${mapComment}${url}\n`);
}

const mapComment = '//# sourceMappingURL=data:application/json;base64,';
