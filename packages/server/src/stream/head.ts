import { type AnyContract, assertChecked, bindAnswer, checkOf, inputName, misuse } from "@parlance/wire";

type Values = Readonly<Record<string, unknown>>;

/** The headers of a stream's answer, which its handler sets before they are due. */
export class StreamHead {
  readonly #contract: AnyContract;
  readonly #operation: string;
  #values: Values | undefined;
  #sent: Readonly<Record<string, string>> = {};

  constructor(contract: AnyContract, operation: string) {
    this.#contract = contract;
    this.#operation = operation;
    this.#values = onlyValues(contract, operation);
  }

  /** The headers to send. Empty for a reader that joins a running stream. */
  get sent(): Readonly<Record<string, string>> {
    return this.#sent;
  }

  readonly set = (values: Values): void => {
    if (!this.#values) throw misuse(`the headers of ${this.#operation} are sent: set them before the first message`);
    this.#values = { ...this.#values, ...values };
  };

  /** Called when the headers are due. Throws `Violation` where they break the contract. */
  seal(): void {
    const [contract, name, values] = [this.#contract, this.#operation, this.#values!];
    this.#values = undefined;
    const origin = { protocol: contract.name, side: "server" as const, subject: name };
    assertChecked(checkOf(contract, contract.checks, inputName(name, "Headers")), values, origin, "the headers of");
    this.#sent = bindAnswer(`${contract.name}.${name}`, values);
  }
}

/** The headers that can have one value only: a handler need not set them. */
function onlyValues({ operations }: AnyContract, operation: string): Values {
  const declared = Object.entries(operations[operation]!.answer.headers!);
  return Object.fromEntries(
    declared.flatMap(([name, { enum: values }]) => (values?.length === 1 ? [[name, values[0]]] : [])),
  );
}
