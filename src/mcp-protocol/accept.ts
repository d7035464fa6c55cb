import { eventStreamType } from './event-stream.ts';

/** The content types that a client accepts. */
export interface Accepted {
  readonly json: boolean;
  readonly events: boolean;
  /** Whether it names event streams explicitly, instead of accepting everything. */
  readonly namesEvents: boolean;
}

/** Reads an `Accept` header; a client without one accepts JSON. */
export function readAccept(header: string | undefined): Accepted {
  if (header === undefined) return { json: true, events: false, namesEvents: false };
  const ranges = new Set(header.split(',').map(acceptedRange));
  const namesEvents = ranges.has(eventStreamType) || ranges.has('text/*');
  const takesAll = ranges.has('*/*');
  return {
    json: takesAll || ranges.has('application/json') || ranges.has('application/*'),
    events: takesAll || namesEvents,
    namesEvents,
  };
}

/** Returns a media range without its parameters; `undefined` if its weight is zero. */
function acceptedRange(part: string): string | undefined {
  const [range, ...parameters] = part.split(';').map((piece) => piece.trim().toLowerCase());
  const isRefused = parameters.some((parameter) => /^q\s*=\s*0(?:\.0*)?$/.test(parameter));
  return isRefused ? undefined : range;
}
