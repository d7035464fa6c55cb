import { limits } from '../limits.ts';
import { descriptorsAdvice, descriptorsMax } from '../node/open-descriptors.ts';

/** How many files this process can have open; `undefined`: the system does not say. */
export const descriptorLimit = descriptorsMax;

/** What to say of a descriptor limit that is too low for any service. */
export function tooFewDescriptors(max: number | undefined): string {
  return (
    `The system lets this process have ${max} files open, and a service needs at least ` +
    `${limits.descriptorsMin}: ${descriptorsAdvice}.`
  );
}
