import { limits } from '../../limits.ts';
import { type Setting, setting } from '../setting.ts';

const mebibyte = 1024 * 1024;

/** Returns the settings for what restores replace, and for the archive. */
export function backupSettings(): Setting[] {
  return [...replacedSettings(), ...archiveSettings()];
}

function archiveSettings(): Setting[] {
  return [
    setting({
      key: 'archive.repository',
      flag: 'archive-repository',
      kind: 'text',
      value: '<name>',
      help: 'repository to which new commits go continuously, by its name in this file',
      otherwise: 'none',
      example: 'far',
      apply: (repository, draft) => {
        draft.archive = { ...draft.archive, repository };
      },
    }),
    setting({
      key: 'archive.interval',
      flag: 'archive-interval',
      kind: 'duration',
      value: '<duration>',
      help: 'how often new commits are archived, at least every second; what a lost machine loses',
      otherwise: `${limits.archiveMillis / 1_000} s`,
      example: '10s',
      apply: (value, draft) => {
        const intervalMillis = Math.max(value, limits.archiveMillisMin);
        draft.archive = { ...draft.archive, intervalMillis };
      },
    }),
    setting({
      key: 'archive.databases',
      flag: 'archive-databases',
      kind: 'list',
      value: '<database>',
      help: 'databases that are archived, by name or identity, or `all`',
      otherwise: 'all',
      example: ['shop'],
      apply: (values, draft) => {
        const databases = values.includes('all') ? 'all' : values;
        draft.archive = { ...draft.archive, databases };
      },
    }),
    setting({
      key: 'archive.lag-bytes',
      flag: 'archive-lag-bytes',
      kind: 'count',
      value: '<MiB>',
      help: 'log of a database that an archive that cannot be reached keeps from being deleted',
      otherwise: `${limits.archiveLagBytesMax / mebibyte} MiB`,
      example: 1024,
      apply: (value, draft) => {
        draft.archive = { ...draft.archive, lagBytes: value * mebibyte };
      },
    }),
  ];
}

function replacedSettings(): Setting[] {
  return [
    setting({
      key: 'history.keep-replaced',
      flag: 'history-keep-replaced',
      kind: 'duration',
      value: '<duration>',
      help: 'how long the log stays that a restore in place has replaced',
      otherwise: `${limits.replacedKeptMillis / 86_400_000}d`,
      example: '30d',
      apply: (value, draft) => {
        draft.keepReplacedMillis = value;
      },
    }),
  ];
}
