import { type SiteEncoding, siteEncodings } from '../host/sites/compress-file.ts';

/**
 * Encodings that a client accepts, in the order in which they should be tried; what is not listed
 * is sent as it is. Between equal ones the smaller goes first.
 */
export function acceptedEncodings(header: string | undefined): readonly SiteEncoding[] {
  const weights = new Map((header ?? '').split(',').map(weightOf));
  const of = (name: string) => weights.get(name) ?? weights.get('*') ?? 0;
  const plain = weights.get('identity') ?? 0;
  return siteEncodings
    .filter((name) => of(name) > 0 && of(name) >= plain)
    .sort((one, other) => of(other) - of(one));
}

function weightOf(part: string): readonly [name: string, weight: number] {
  const [name = '', ...parameters] = part.split(';').map((each) => each.trim().toLowerCase());
  const given = parameters.find((parameter) => /^q\s*=/.test(parameter));
  const [, digits] = /^q\s*=\s*([01](?:\.\d{0,3})?)$/.exec(given ?? '') ?? [];
  if (given === undefined) return [name, 1];
  return [name, digits === undefined ? 0 : Math.min(1, Number(digits))];
}

/** Whether an `If-None-Match` header names the entity tag. */
export function matchesTag(header: string | undefined, tag: string): boolean {
  if (header === undefined) return false;
  if (header.trim() === '*') return true;
  return header.split(',').some((part) => part.trim().replace(/^W\//, '') === tag);
}

export type RangeAnswer =
  | { readonly kind: 'whole' }
  | { readonly kind: 'unsatisfiable' }
  /** Both ends are included. */
  | { readonly kind: 'part'; readonly from: number; readonly to: number };

/** Reads a `Range` header with one range of bytes; several, or another unit, mean the whole. */
export function rangeOf(header: string | undefined, bytes: number): RangeAnswer {
  const [, first = '', last = ''] = /^bytes=\s*(\d{0,15})-(\d{0,15})\s*$/.exec(header ?? '') ?? [];
  if (first === '' && last === '') return { kind: 'whole' };
  if (first === '') {
    const length = Math.min(Number(last), bytes);
    if (length === 0) return { kind: 'unsatisfiable' };
    return { kind: 'part', from: bytes - length, to: bytes - 1 };
  }
  const from = Number(first);
  const to = last === '' ? bytes - 1 : Math.min(Number(last), bytes - 1);
  if (last !== '' && Number(last) < from) return { kind: 'whole' };
  return from >= bytes ? { kind: 'unsatisfiable' } : { kind: 'part', from, to };
}

/** Whether JSON is wanted with values in the plain form: `application/json; values=plain`. */
export function wantsPlainValues(accept: string | undefined): boolean {
  return (accept ?? '').split(',').some((part) => {
    const [type = '', ...parameters] = part.split(';').map((each) => each.trim().toLowerCase());
    return type === 'application/json' && parameters.some((each) => plainParameter.test(each));
  });
}

const plainParameter = /^values\s*=\s*(?:plain|"plain")$/;

/** Whether a request is for a page that is shown, so that a page in its place makes sense. */
export function wantsPage(accept: string | undefined): boolean {
  return (accept ?? '').split(',').some((part) => {
    const [type = '', ...parameters] = part.split(';').map((each) => each.trim().toLowerCase());
    const isRefused = parameters.some((parameter) => /^q=0(?:\.0*)?$/.test(parameter));
    return type === 'text/html' && !isRefused;
  });
}
