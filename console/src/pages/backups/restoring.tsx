import type { ReactNode } from 'react';
import { Copy } from '../../parts/copy.tsx';
import { bytesText } from '../../parts/numbers.ts';
import { Panel } from '../../parts/page.tsx';
import { Ago } from '../../parts/time.tsx';
import { readReplaced } from '../../service/backups.ts';
import { useLoad } from '../../service/load.ts';
import { useDatabase } from '../../shell/database-context.tsx';
import { useParam } from '../../shell/router.tsx';
import styles from './backups.module.css';

/** What can be restored, by commands: they show their plan first, and ask. */
export function Restoring() {
  const { database, whyNot } = useDatabase();
  const [repository] = useParam('repository');
  const canBackUp = whyNot('back_up') === false;
  const replaced = useLoad(canBackUp ? database : null, (signal) => readReplaced(database, signal));
  const from = `--database ${database} --repository ${repository === '' ? 'NAME' : repository}`;
  return (
    <Panel title="Restoring">
      <div className={styles.commands}>
        <p className={styles.quiet}>
          A restore is made with the command, which shows its plan before it does anything.
        </p>
        <Command
          title="Under another name, to look at it"
          text={`reducerdb backup restore latest ${from} --as ${database}-copy`}
        />
        <Command
          title="In place, up to a moment; for owners"
          text={`reducerdb backup restore latest ${from} --in-place --at 'now - 15m'`}
        />
        {replaced.value?.map(({ number, millis, bytes }) => (
          <Command
            key={number}
            title={
              <>
                The log of before a restore, replaced <Ago time={millis} />, {bytesText(bytes)}
              </>
            }
            text={`reducerdb backup restore --database ${database} --replaced ${number}`}
          />
        ))}
      </div>
    </Panel>
  );
}

function Command({ title, text }: { readonly title: ReactNode; readonly text: string }) {
  return (
    <div>
      <h3>{title}</h3>
      <p className={styles.command}>
        <code>{text}</code>
        <Copy text={text} what="command" />
      </p>
    </div>
  );
}
