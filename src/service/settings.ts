import type { Setting } from './setting.ts';
import { accessSettings } from './settings/access.ts';
import { backupSettings } from './settings/backups.ts';
import { clusterSettings } from './settings/cluster.ts';
import { connectionSettings } from './settings/connections.ts';
import { historySettings } from './settings/history.ts';
import { ledgerSettings } from './settings/ledger.ts';
import { limitSettings } from './settings/limits.ts';
import { moduleHttpSettings } from './settings/module-http.ts';
import { quotaSettings } from './settings/quotas.ts';

/** All settings, in the order of the documentation; those of a table are adjacent. */
export const settings: readonly Setting[] = [
  ...accessSettings(),
  ...connectionSettings(),
  ...limitSettings(),
  ...historySettings(),
  ...ledgerSettings(),
  ...moduleHttpSettings(),
  ...quotaSettings(),
  ...backupSettings(),
  ...clusterSettings(),
];
