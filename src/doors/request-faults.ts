import { expectedNames } from '../values/json-read.ts';

/** The text for a client that sends more requests than its rate allows. */
export const tooManyRequestsText = 'Too many requests';

/** The text for a path with a part that is not UTF-8; `parameter` names the part. */
export function pathBytesFault(parameter: string): string {
  return `Invalid URL: Invalid UTF-8 in \`${parameter}\``;
}

/** The text for a query of a URL that cannot be read; `detail` is one of the texts below. */
export function queryFault(detail: string): string {
  return `Failed to deserialize query string: ${detail}`;
}

export function repeatedFault(parameter: string): string {
  return `duplicate field \`${parameter}\``;
}

export const booleanFault = 'provided string was not `true` or `false`';

export function choiceFault(given: string, choices: readonly string[]): string {
  return `unknown variant \`${given}\`, ${expectedNames(choices, 'variant')}`;
}
