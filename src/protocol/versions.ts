/**
 * The subprotocols of the WebSocket, best first. The server takes the first one of this list that
 * the client offers, whatever the client's own order.
 */
export const subprotocols = [
  'v3.bsatn.spacetimedb',
  'v2.bsatn.spacetimedb',
  'v1.bsatn.spacetimedb',
  'v1.json.spacetimedb',
] as const;

export type Subprotocol = (typeof subprotocols)[number];

/** What the server answers to `offers`; `undefined` when it speaks none of them. */
export function chooseSubprotocol(offers: Iterable<string>): Subprotocol | undefined {
  const offered = new Set(offers);
  return subprotocols.find((name) => offered.has(name));
}

/** The names in a `Sec-WebSocket-Protocol` header, which may stand several in one line. */
export function subprotocolOffers(header: string): string[] {
  return header
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '');
}
