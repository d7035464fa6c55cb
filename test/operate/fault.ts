import type { Isolation } from '../../src/host/workers/isolation.ts';
import type { Bed } from './bed.ts';

/** One kind of fault that an operator may meet; `docs/operate/faults.md` has a line for each. */
export interface Fault {
  /** The words of that line. */
  readonly kind: string;
  readonly isolation?: Isolation;
  /** Puts a file system on the folder of the data; `unmount` ends it. */
  readonly mount?: (folder: string) => void;
  /** Why it cannot be tried here; `undefined`: it can. */
  readonly missing?: string | undefined;
  /**
   * Causes it, and sees that what is promised holds. Gives the outcome in a few words; afterwards
   * a service runs on the folder, or can be started on it.
   */
  readonly run: (bed: Bed) => Promise<string>;
}
