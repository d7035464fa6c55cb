/** Headers with the caller and the cost of a call, which pages of other origins can read. */
const exposed = [
  'spacetime-identity',
  'spacetime-identity-token',
  'spacetime-energy-used',
  'spacetime-execution-duration-micros',
  'reducerdb-error-place',
  'reducerdb-error-hint',
].join(', ');

/** Lets any page read the response, because only the token it sends grants rights. */
export const openHeaders = {
  'access-control-allow-origin': '*',
  'access-control-expose-headers': exposed,
} as const;

/** The request headers that a response may depend on. */
export const varyHeaders = {
  vary: 'origin, access-control-request-method, access-control-request-headers',
} as const;
