import type { ModuleEnv } from '../module/module-env.ts';
import type { ModuleDefinition } from '../schema/definition.ts';
import { envFault } from '../schema/env-faults.ts';
import { refusal } from './outcome.ts';

/** Throws `Refusal` unless all values that a program declares are set, and fit. */
export function requireEnv({ env: declared }: ModuleDefinition, env: ModuleEnv): void {
  const fault = envFault(declared, env);
  if (fault === undefined) return;
  throw refusal(fault.kind === 'missing' ? 'env.missing' : 'env.invalid', fault.message);
}
