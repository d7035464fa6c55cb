const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** The target of a request, as it was sent. */
export interface RequestTarget {
  readonly path: string;
  /** Begins with `?`, or is empty. */
  readonly search: string;
}

/**
 * Splits the target of a request. Nothing is decoded and no `..` is resolved, so that what is
 * checked is what is served. An absolute URL, as proxies receive it, counts by its path.
 */
export function splitTarget(url = ''): RequestTarget {
  const target = url.replace(/^https?:\/\/[^/?]*/i, '');
  const mark = target.indexOf('?');
  if (mark < 0) return { path: target, search: '' };
  return { path: target.slice(0, mark), search: target.slice(mark) };
}

/**
 * Returns why the `Host` headers of a request are rejected; `undefined`: they are not. A request
 * names one host. Of several headers, Node uses the first, and a proxy in front may have checked
 * another one.
 *
 * `rawHeaders` holds names and values by turns, as Node gives them.
 */
export function hostFault(rawHeaders: readonly string[]): string | undefined {
  let count = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at];
    if (name?.length === 4 && name.toLowerCase() === 'host') count += 1;
  }
  return count < 2 ? undefined : `The request has ${count} \`Host\` headers; send exactly one.`;
}

/**
 * Percent-decodes one part of a path once; what looks like an escape and is not one stays.
 * `undefined`: its bytes are not UTF-8. `part` has one character for each byte, as Node gives the
 * target of a request.
 */
export function decodePathPart(part: string): string | undefined {
  const bytes = part.replace(/%([0-9a-f]{2})/gi, (_, digits: string) =>
    String.fromCharCode(Number.parseInt(digits, 16)),
  );
  try {
    return decoder.decode(Buffer.from(bytes, 'latin1'));
  } catch {
    return undefined;
  }
}
