#compdef harness
# for ~/.zshrc, after compinit:  source <(harness completion zsh)
_harness() {
    local -a found
    found=("${(@f)$("${(Q)words[1]}" completion zsh --query "${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}" \
        2>/dev/null)}")
    compadd -U -- ${${(M)found:#* }% }
    compadd -U -S '' -- ${found:#* }
}
compdef _harness harness
