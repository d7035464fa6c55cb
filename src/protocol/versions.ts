/** Version 3 with offsets in front of the frames: the only one that is our own. */
export const resumableProtocol = 'v3.bsatn.reducerdb';
/** Several messages in a frame. */
export const packedProtocol = 'v3.bsatn.spacetimedb';
/** One message in a frame. */
export const plainProtocol = 'v2.bsatn.spacetimedb';

/**
 * The WebSocket subprotocols, best first. The server chooses the first one in this list that the
 * client offers, regardless of the client's own order.
 */
export const subprotocols = [
  resumableProtocol,
  packedProtocol,
  plainProtocol,
  'v1.bsatn.spacetimedb',
  'v1.json.spacetimedb',
] as const;

export type Subprotocol = (typeof subprotocols)[number];

/** Chooses one of `offers`; returns `undefined` if none is supported. */
export function chooseSubprotocol(offers: Iterable<string>): Subprotocol | undefined {
  const offered = new Set(offers);
  return subprotocols.find((name) => offered.has(name));
}

/** Returns the names in a `Sec-WebSocket-Protocol` header, which can hold several in one line. */
export function subprotocolOffers(header: string): string[] {
  return header
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '');
}
