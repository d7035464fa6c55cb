import { useEffect, useState } from 'react';
import { Badge } from '../../parts/badge.tsx';
import { Button } from '../../parts/button.tsx';
import { bytesText, countText } from '../../parts/numbers.ts';
import { Facts, Panel } from '../../parts/page.tsx';
import { Notice, WhenLoaded } from '../../parts/state.tsx';
import { complain } from '../../parts/toast.tsx';
import { cancelJob, type Job, readJob } from '../../service/jobs.ts';
import { isObject, type Json } from '../../service/json.ts';
import { useLoad } from '../../service/load.ts';
import styles from './backups.module.css';

const everyMillis = 500;

/** How far a job is, and what came of it; it is in the address, so that a reload finds it. */
export function JobPanel({ id, onClose }: { readonly id: string; readonly onClose: () => void }) {
  const [isOver, setOver] = useState(false);
  const job = useLoad(id, (signal) => readJob(id, signal), isOver ? {} : { everyMillis });
  const state = job.value?.state;
  const isGone = job.error !== undefined;
  useEffect(() => {
    setOver(isGone || (state !== undefined && state !== 'running'));
  }, [state, isGone]);
  const cancel = () => {
    cancelJob(id).then(job.reload, (error: unknown) => complain('It was not cancelled', error));
  };
  return (
    <Panel
      title={job.value === undefined ? 'Job' : (kindText[job.value.kind] ?? job.value.kind)}
      actions={
        state === 'running' ? (
          <Button size="small" icon="stop" onClick={cancel}>
            Cancel
          </Button>
        ) : (
          <Button size="small" icon="close" onClick={onClose}>
            Close
          </Button>
        )
      }
    >
      <WhenLoaded of={job}>{(value) => <Progress of={value} />}</WhenLoaded>
    </Panel>
  );
}

const kindText: Readonly<Record<string, string>> = {
  snapshot: 'Snapshot',
  verify: 'Check of all files',
  backup: 'Backup',
  restore: 'Restore',
};

function Progress({ of }: { readonly of: Job }) {
  const { state, phase, done, total, error, result } = of;
  const kind = state === 'done' ? 'good' : state === 'running' ? 'accent' : 'danger';
  return (
    <div className={styles.job} aria-live="polite">
      <p className={styles.line}>
        <Badge kind={kind} hasDot>
          {state}
        </Badge>
        {state === 'running' && <span>{phase}</span>}
        {state === 'running' && total > 0 && (
          <span className={styles.quiet}>
            {countText(done)} of {countText(total)}
          </span>
        )}
      </p>
      {state === 'running' && (
        <progress className={styles.progress} {...(total > 0 ? { value: done, max: total } : {})} />
      )}
      {error !== null && <Notice kind="danger">{error}</Notice>}
      {result !== null && state === 'done' && (
        <Facts
          of={Object.entries(result).map(([name, value]) => [wordsOf(name), shown(name, value)])}
        />
      )}
    </div>
  );
}

/** `new_bytes` as `New bytes`. */
function wordsOf(name: string): string {
  const words = name.replaceAll('_', ' ');
  return words.charAt(0).toUpperCase() + words.slice(1);
}

function shown(name: string, value: Json): string {
  if (typeof value === 'number') return /bytes/i.test(name) ? bytesText(value) : countText(value);
  if (typeof value === 'string') return value;
  if (Array.isArray(value)) {
    const items: readonly Json[] = value;
    return items.length === 0 ? 'none' : items.map((item) => shown('', item)).join('; ');
  }
  if (!isObject(value)) return JSON.stringify(value);
  const parts = Object.entries(value).map(([part, one]) => `${wordsOf(part)}: ${shown(part, one)}`);
  return parts.join(', ');
}
