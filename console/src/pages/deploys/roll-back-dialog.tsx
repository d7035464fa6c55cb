import { useState } from 'react';
import { Confirm, Dialog } from '../../parts/dialog.tsx';
import { Field, Input } from '../../parts/field.tsx';
import { Loading, Notice } from '../../parts/state.tsx';
import { complain, say } from '../../parts/toast.tsx';
import { type Deploy, planRollback, type RollbackPlan, rollBack } from '../../service/deploys.ts';
import { useLoad } from '../../service/load.ts';
import { useDatabase } from '../../shell/database-context.tsx';
import styles from './deploys.module.css';
import { planText } from './plan-text.ts';

interface RollBackDialogProps {
  readonly to: Deploy;
  readonly onClose: () => void;
  readonly onDone: () => void;
}

/** Says what putting an earlier program back would do, and does it once its number is typed. */
export function RollBackDialog({ to, onClose, onDone }: RollBackDialogProps) {
  const { database } = useDatabase();
  const title = `Roll back to deploy ${to.number}`;
  const [message, setMessage] = useState('');
  const plan = useLoad(`${database} ${to.number}`, (signal) => {
    return planRollback(database, to.number, signal);
  });
  const confirm = async (known: RollbackPlan) => {
    try {
      const made = await rollBack(database, to.number, { message, plan: known });
      say(`Deploy ${to.number} runs again`, `It is deploy ${made} now.`);
      onDone();
    } catch (error) {
      complain('The program that runs stays', error);
    }
  };
  if (plan.error !== undefined) {
    return (
      <Dialog title={title} onClose={onClose}>
        <Notice kind="danger" isAlert>
          <p className={styles.message}>{plan.error.message}</p>
          {plan.error.hint !== undefined && <p className={styles.quiet}>{plan.error.hint}</p>}
        </Notice>
      </Dialog>
    );
  }
  const { value } = plan;
  if (value === undefined) {
    return (
      <Dialog title={title} onClose={onClose}>
        <Loading label="Loading what it would do" lines={4} />
      </Dialog>
    );
  }
  const text = planText(value.text);
  return (
    <Confirm
      title={title}
      action="Roll back"
      typed={String(to.number)}
      onConfirm={() => confirm(value)}
      onClose={onClose}
    >
      <div className={styles.back}>
        <p>The program of then runs again. Rows stay as they are now.</p>
        {text === '' ? (
          <p>The schema stays as it is.</p>
        ) : (
          <pre className={styles.plan}>{text}</pre>
        )}
        {value.breaksClients && (
          <Notice kind="warn">Clients are disconnected, and have to be made for it again.</Notice>
        )}
        <Field label="Message" note="why, for the list">
          {(control) => (
            <Input
              {...control}
              value={message}
              onChange={(event) => setMessage(event.target.value)}
            />
          )}
        </Field>
      </div>
    </Confirm>
  );
}
