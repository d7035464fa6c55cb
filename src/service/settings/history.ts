import { readHistorySetting } from '../../doors/history-settings.ts';
import { type HistoryField, historySettingNames } from '../../host/registry/history-choice.ts';
import { limits } from '../../limits.ts';
import { ConfigurationError } from '../configuration.ts';
import { type Setting, setting } from '../setting.ts';

const mebibyte = 1024 * 1024;

/** Returns the settings for what is kept of the history of databases. */
export function historySettings(): Setting[] {
  return [
    history('keepMicros', '<time or everything>', {
      help:
        'commits younger than this stay, so that the past can be read; `0`: what recovery needs; ' +
        'given, owners can choose no more for their databases',
      otherwise: `${limits.historyKeepMillis / 86_400_000}d; owners can choose`,
      example: '30d',
    }),
    history('keepBytes', '<size>', {
      help:
        'old segments and snapshots of one database, `0` for any amount; beyond it the oldest ' +
        'go, however young; given, owners can choose no more',
      otherwise: `${limits.historyKeepBytes / mebibyte / 1024}GiB; owners can choose`,
      example: '10GiB',
    }),
    history('keepCommits', '<count>', {
      help: 'commits of one database that are kept; given, owners can choose no more',
      otherwise: 'any number; owners can choose',
      example: 1_000_000,
    }),
    history('onLowDisk', '<what>', {
      help:
        'when less than 1 GiB or 5 % of the disk is free: shrink deletes history down to what ' +
        'recovery needs, oldest first; warn only reports it; given as shrink, owners cannot ' +
        'choose warn',
      otherwise: 'shrink; owners can choose',
      example: 'shrink',
    }),
  ];
}

interface HistoryWords {
  readonly help: string;
  readonly otherwise: string;
  readonly example: string | number;
}

function history(field: HistoryField, value: string, words: HistoryWords): Setting {
  const name = historySettingNames[field];
  return setting({
    key: `history.${name}`,
    flag: `history-${name}`,
    kind: field === 'onLowDisk' ? 'text' : 'amount',
    value,
    ...words,
    apply: (given, draft) => {
      const read = readHistorySetting(field, given);
      if ('fault' in read) throw new ConfigurationError(`\`${given}\` ${read.fault}`);
      const { keepBytes = 0 } = read.choice;
      // Sizes in other settings are counted in MiB.
      if (/^\d+$/.test(given) && keepBytes > 0 && keepBytes < mebibyte) {
        throw new ConfigurationError(`\`${given}\` needs a unit, such as ${given}MiB`);
      }
      draft.history = { ...draft.history, ...read.choice };
    },
  });
}
