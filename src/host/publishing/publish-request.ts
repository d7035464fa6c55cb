import type { ProgramSource } from '../../database/program-source.ts';
import type { DatabaseIdentity } from '../../values/identity-roles.ts';
import type { HostCaller } from '../registry/host-caller.ts';
import type { StaticChoice } from '../sites/site.ts';
import type { UpdateWatch } from '../supervision/database-handle.ts';

export interface PublishRequest {
  readonly caller: HostCaller;
  /** A name or an identity; `undefined` makes a database without a name. */
  readonly target: string | undefined;
  readonly program: ProgramSource;
  /** Resets an existing database instead of updating it. */
  readonly clear: boolean;
  readonly policy: 'compatible' | 'breakClients';
  /** Migration token that a plan returned; needed with `breakClients`. */
  readonly token: string | undefined;
  /** Values of the configuration, which are set with the program, or not at all. */
  readonly env?: readonly RequestedEnv[];
  /** Milliseconds that an update waits to be durable. */
  readonly confirmMillis: number;
  /** Follows an update, and can end it before its swap. */
  readonly watch?: UpdateWatch;
  /** Static files that take the place of the present ones with it; absent: those stay. */
  readonly static?: StaticChoice | undefined;
  /** What the deploy is for, as people say it. */
  readonly message?: string | undefined;
  /** Seconds for which its calls are watched; it is taken back if they fail. */
  readonly canarySeconds?: number | undefined;
}

/** A value that a publish sets; `isSecret` absent: it is what the program declares it as. */
export interface RequestedEnv {
  readonly name: string;
  readonly text: string;
  readonly isSecret?: boolean | undefined;
}

/** The text for a request to clear a database that names none. */
export const clearsNothingText = 'Clear database requires database name or identity';

export interface PublishOutcome {
  readonly kind: 'created' | 'updated';
  readonly identity: DatabaseIdentity;
  /** The name as given; `undefined` when the target was an identity or absent. */
  readonly name: string | undefined;
  /** The number of the deploy; `undefined`: the program ran already. */
  readonly deploy: number | undefined;
}
