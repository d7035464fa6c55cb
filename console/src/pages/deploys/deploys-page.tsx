import { useState } from 'react';
import { Badge } from '../../parts/badge.tsx';
import { Button } from '../../parts/button.tsx';
import { Copy } from '../../parts/copy.tsx';
import { IdentityText } from '../../parts/identity.tsx';
import { PageFrame, Panel } from '../../parts/page.tsx';
import { Empty, Notice, WhenLoaded } from '../../parts/state.tsx';
import { Ago } from '../../parts/time.tsx';
import { type Deploy, readDeploys } from '../../service/deploys.ts';
import { useLoad } from '../../service/load.ts';
import { useDatabase } from '../../shell/database-context.tsx';
import { Link, pageAddress, useParam } from '../../shell/router.tsx';
import styles from './deploys.module.css';
import { planText } from './plan-text.ts';
import { RollBackDialog } from './roll-back-dialog.tsx';

const everyMillis = 3_000;

/** What was published, and going back. */
export function Page({ database }: { readonly database: string }) {
  const deploys = useLoad(database, (signal) => readDeploys(database, signal), { everyMillis });
  const [back, setBack] = useParam('back', '', 'step');
  return (
    <PageFrame
      title="Deploys"
      about="The programs that this database ran, the newest first."
      actions={
        <Button kind="plain" icon="refresh" aria-label="Read again" onClick={deploys.reload} />
      }
    >
      <WhenLoaded of={deploys}>
        {(all) => {
          const target = all.find(({ number }) => String(number) === back);
          const running = all.find(({ isRunning }) => isRunning);
          return (
            <>
              {all.length === 0 && <Empty icon="deploy" title="Nothing was published yet" />}
              <ol className={styles.list}>
                {all.map((each, at) => (
                  <li key={each.number}>
                    <DeployPanel
                      of={each}
                      before={all[at + 1]}
                      isProgram={each.program === running?.program}
                      onBack={setBack}
                    />
                  </li>
                ))}
              </ol>
              {target !== undefined && (
                <RollBackDialog
                  to={target}
                  onClose={() => setBack('')}
                  onDone={() => {
                    setBack('');
                    deploys.reload();
                  }}
                />
              )}
            </>
          );
        }}
      </WhenLoaded>
    </PageFrame>
  );
}

const kindText: Readonly<Record<string, string>> = {
  created: 'created the database',
  updated: 'published',
  reset: 'reset the database',
  'rolled-back': 'put back',
  restored: 'came with a restore',
  found: 'was found running',
};

interface DeployPanelProps {
  readonly of: Deploy;
  /** The deploy before it, if it is known. */
  readonly before: Deploy | undefined;
  /** Its program is the one that runs, maybe by another deploy. */
  readonly isProgram: boolean;
  readonly onBack: (number: string) => void;
}

function DeployPanel({ of, before, isProgram, onBack }: DeployPanelProps) {
  const { database, whyNot } = useDatabase();
  const off = isProgram
    ? 'Its program runs now.'
    : !of.isKept
      ? 'Its program is no longer kept.'
      : whyNot('roll_back');
  return (
    <Panel
      title={`Deploy ${of.number}`}
      actions={
        <>
          {of.isRunning && (
            <Badge kind="good" hasDot>
              running
            </Badge>
          )}
          <Button size="small" icon="undo" off={off} onClick={() => onBack(String(of.number))}>
            Roll back to it
          </Button>
        </>
      }
    >
      <p className={styles.line}>
        {of.by === null ? 'The service' : <IdentityText hex={of.by} />}
        <span className={styles.quiet}>
          {kindText[of.kind] ?? of.kind}
          {of.of !== null && ` deploy ${of.of}`}
        </span>
        {of.at !== null && <Ago time={of.at} />}
        <span className={styles.program}>
          <code title={of.program}>{of.program.slice(0, 12)}</code>
          <Copy text={of.program} what="hash of the program" />
        </span>
      </p>
      {of.message !== null && <p className={styles.message}>{of.message}</p>}
      {of.canary !== null && <CanaryNotice of={of.canary} />}
      {of.migrations.length > 0 && (
        <p className={styles.line}>
          <span className={styles.quiet}>Migrations</span>
          {of.migrations.map((id) => (
            <Badge key={id}>{id}</Badge>
          ))}
        </p>
      )}
      {of.kind !== 'created' && <Plan text={planText(of.plan)} />}
      {before !== undefined && of.isKept && before.isKept && (
        <Link
          to={pageAddress(database, 'schema', {
            view: 'differences',
            from: String(before.number),
            to: String(of.number),
          })}
        >
          Difference of the schema from deploy {before.number}
        </Link>
      )}
    </Panel>
  );
}

const planLinesShown = 4;

/** What it changed, as the plan of its publish said; long ones are opened. */
function Plan({ text }: { readonly text: string }) {
  const [isOpen, setOpen] = useState(false);
  if (text === '') return <p className={styles.quiet}>The schema stayed as it was.</p>;
  const lines = text.split('\n');
  const isLong = lines.length > planLinesShown;
  const shown = isOpen ? lines : lines.slice(0, planLinesShown);
  return (
    <div>
      <pre className={styles.plan}>{shown.join('\n')}</pre>
      {isLong && (
        <Button size="small" onClick={() => setOpen(!isOpen)}>
          {isOpen ? 'Less of the plan' : `All ${lines.length} lines of the plan`}
        </Button>
      )}
    </div>
  );
}

function CanaryNotice({ of }: { readonly of: NonNullable<Deploy['canary']> }) {
  const kind =
    of.state === 'passed'
      ? 'good'
      : of.state === 'watched' || of.state === 'ended'
        ? 'info'
        : 'danger';
  return (
    <Notice kind={kind}>
      Canary: {of.state.replaceAll('-', ' ')}
      {of.reason !== null && `: ${of.reason}`}
    </Notice>
  );
}
