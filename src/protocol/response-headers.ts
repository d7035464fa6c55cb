/** Headers that name the caller, and what a call took; pages of other origins may read them. */
const exposed = [
  'spacetime-identity',
  'spacetime-identity-token',
  'spacetime-energy-used',
  'spacetime-execution-duration-micros',
  'reducerdb-error-place',
  'reducerdb-error-hint',
].join(', ');

/** Who may read an answer: any page, because nothing is granted but by the token it sends. */
export const openHeaders = {
  'access-control-allow-origin': '*',
  'access-control-expose-headers': exposed,
} as const;

/** What an answer may depend on beside its address. */
export const varyHeaders = {
  vary: 'origin, access-control-request-method, access-control-request-headers',
} as const;
