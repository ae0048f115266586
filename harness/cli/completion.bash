# for ~/.bashrc:  source <(harness completion bash)
_harness() {
    local line
    COMPREPLY=()
    while IFS= read -r line; do
        COMPREPLY+=("$line")
    done < <("$1" completion bash --query "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -o nospace -F _harness harness
