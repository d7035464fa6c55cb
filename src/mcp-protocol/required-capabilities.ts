import { member } from '../values/json.ts';
import type { InputRequest } from './input-required.ts';
import { RpcError, rpcCode } from './rpc-error.ts';
import type { Terms } from './terms.ts';

const neededCapability = {
  'elicitation/create': 'elicitation',
  'sampling/createMessage': 'sampling',
  'roots/list': 'roots',
} as const satisfies Record<InputRequest['method'], string>;

/** Throws if the client did not declare a needed capability. */
export function requireCapabilities(
  requests: readonly InputRequest[],
  { era, clientCapabilities }: Terms,
): void {
  const needed = requests.map(({ method }) => neededCapability[method]);
  const missing = needed.filter((name) => member(clientCapabilities, name) === undefined);
  if (missing.length === 0) return;
  const requiredCapabilities = Object.fromEntries(missing.map((name) => [name, {}]));
  const words = `this needs a client with ${missing.join(', ')}`;
  const code = era === 'modern' ? rpcCode.missingCapability : rpcCode.invalidRequest;
  throw new RpcError(code, words, { requiredCapabilities });
}
