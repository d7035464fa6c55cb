import { microsText } from '../../parts/numbers.ts';
import type { PlanStep } from '../../service/sql.ts';
import styles from './sql.module.css';

/** The steps of a plan, each below the one that reads it, with rows and times where known. */
export function PlanTree({ plan }: { readonly plan: PlanStep }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls is reached by keyboard
    <section className={styles.plan} tabIndex={0} aria-label="Plan">
      <div className={styles.step}>
        <span className={styles.stepHead}>Step</span>
        <span className={styles.stepHead}>Share of time</span>
        <span className={`${styles.stepHead} ${styles.number}`}>Rows</span>
        <span className={`${styles.stepHead} ${styles.number}`}>Time</span>
      </div>
      <Step step={plan} depth={0} whole={plan.millis ?? 0} />
    </section>
  );
}

interface StepProps {
  readonly step: PlanStep;
  readonly depth: number;
  readonly whole: number;
}

const indentPixels = 18;

function Step({ step, depth, whole }: StepProps) {
  const { text, estimated, rows, loops, millis, children } = step;
  const share = millis === null || whole === 0 ? 0 : Math.min(1, millis / whole);
  const about = estimated === null ? '' : `about ${estimated} expected`;
  return (
    <>
      <div className={styles.step}>
        <code style={{ paddingLeft: depth * indentPixels }}>{text}</code>
        <span className={styles.share} title={`${Math.round(share * 100)} %`}>
          <span style={{ width: `${share * 100}%` }} />
        </span>
        <span
          className={styles.number}
          title={loops === null ? about : `${about}, in ${loops} loops`}
        >
          {rows ?? (estimated === null ? '' : `~${estimated}`)}
        </span>
        <span className={styles.number}>{millis === null ? '' : microsText(millis * 1_000)}</span>
      </div>
      {children.map((child) => (
        <Step key={child.id} step={child} depth={depth + 1} whole={whole} />
      ))}
    </>
  );
}
