import { newKey } from "@parlance/wire";

/** Milliseconds within which the other servers must say whether something is theirs. */
const ANSWER_WITHIN = 1000;
/** Milliseconds after a relay's interruption in which a server may not be heard yet that is there. */
const RETURNING = 5000;
/** Milliseconds between two questions then. */
const ASK_AGAIN = 100;

/** Questions to all servers that listen to a topic: whose is this? */
export interface Inquiry<A> {
  /**
   * `put` publishes a question with its id, and resolves to how many were asked. Resolves to the first answer, or to undefined when all say
   * that it is not theirs or nobody says more. After an interruption it is asked again until everybody is sure to hear it.
   */
  ask(put: (id: string) => Promise<number>): Promise<A | undefined>;
  /** Somebody has answered; undefined says that it is not theirs. */
  note(id: string, answer: A | undefined): void;
  /** The relay was interrupted and is back. */
  interrupted(): void;
}

interface Question<A> {
  answered: number;
  /** Servers that were asked; unknown until the question is out. */
  asked: number;
  resolve(answer: A | undefined): void;
}

export function inquiry<A>(): Inquiry<A> {
  const questions = new Map<string, Question<A>>();
  let interrupted = Number.NEGATIVE_INFINITY;

  async function askOnce(put: (id: string) => Promise<number>): Promise<A | undefined> {
    const id = newKey();
    let timer: ReturnType<typeof setTimeout> | undefined;
    try {
      return await new Promise<A | undefined>((resolve, reject) => {
        const question: Question<A> = { answered: 0, asked: Number.POSITIVE_INFINITY, resolve };
        questions.set(id, question);
        put(id).then((asked) => {
          question.asked = asked;
          if (question.answered === asked) resolve(undefined);
          timer = setTimeout(resolve, ANSWER_WITHIN, undefined);
        }, reject);
      });
    } finally {
      clearTimeout(timer);
      questions.delete(id);
    }
  }

  return {
    async ask(put) {
      for (;;) {
        const answer = await askOnce(put);
        if (answer !== undefined || performance.now() - interrupted > RETURNING) return answer;
        await new Promise((resolve) => setTimeout(resolve, ASK_AGAIN));
      }
    },
    note(id, answer) {
      const question = questions.get(id);
      if (!question) return;
      question.answered++;
      if (answer !== undefined || question.answered === question.asked) question.resolve(answer);
    },
    interrupted() {
      interrupted = performance.now();
    },
  };
}
