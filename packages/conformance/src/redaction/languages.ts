/** Words for a password in languages with Latin letters, as a part of an expression that ignores case. */
export const LATIN = [
  ...["mot de passe", "mots de passe", "mdp", "contraseña", "contrasena", "clave", "senha", "palavra-passe"],
  ...["kennwort", "passwort", "wachtwoord", "adgangskode", "lösenord", "losenord", "passord", "salasana", "haslo"],
  ...["hasło", "heslo", "jelszó", "parola", "şifre", "sifre", "lozinka", "geslo", "parool", "kata sandi", "mật khẩu"],
].join("|");

/** The same in other scripts. */
export const OTHERS = [
  ...["парол[ьяю]", "секрет", "κωδικός", "密码", "密碼", "口令", "密钥", "パスワード", "暗証番号", "비밀번호", "암호"],
  ...["كلمة المرور", "كلمة السر", "סיסמה", "पासवर्ड", "รหัสผ่าน"],
].join("|");
