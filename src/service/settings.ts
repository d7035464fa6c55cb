import type { Setting } from './setting.ts';
import { accessSettings } from './settings/access.ts';
import { connectionSettings } from './settings/connections.ts';
import { limitSettings } from './settings/limits.ts';
import { quotaSettings } from './settings/quotas.ts';

/** Everything that can be set, in the order in which it is explained; those of a table together. */
export const settings: readonly Setting[] = [
  ...accessSettings(),
  ...connectionSettings(),
  ...limitSettings(),
  ...quotaSettings(),
];
