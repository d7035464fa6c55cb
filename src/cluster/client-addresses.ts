import { limits } from '../limits.ts';
import type { Membership } from './membership.ts';

/** Where clients reach the hosts that live, for when the one that serves them is lost. */
export function clientAddresses({ living }: Pick<Membership, 'living'>): readonly string[] {
  const fit = living
    .map(({ clientAddress }) => clientAddress)
    .filter((address) => address !== '' && address.length <= limits.hostAddressCharactersMax);
  return [...new Set(fit)].slice(0, limits.hostsToldMax);
}
