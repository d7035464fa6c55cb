import { isLinkAddress } from '../shared-log/link-address.ts';

/** Where a database is led, as the answer 421 says among hosts. */
export interface LeaderHint {
  readonly term: number;
  readonly address: string;
}

export const termHeader = 'reducerdb-term';
export const leaderAddressHeader = 'reducerdb-leader-address';

/** The headers of the answer that says who leads, where this host does not. */
export function hintHeaders(hint: LeaderHint | undefined): Record<string, string> {
  if (hint === undefined || !isLinkAddress(hint.address)) return {};
  return { [termHeader]: String(hint.term), [leaderAddressHeader]: hint.address };
}
